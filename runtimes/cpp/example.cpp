// The talk's program: load a model, give it ones, print what comes out. No Python anywhere.
//
//   example resnet.pt [sizes of the input: 1 3 224 224]
//
// How the real one differs: libtorch/main.cpp is the same program with the real library; the lines differ by their namespaces.
#include <chrono>
#include <iostream>

#include "include/torchscript.h"

int main(int argc, const char* argv[]) {
  if (argc < 2) {
    std::cerr << "usage: example MODEL.pt [sizes...]\n";
    return 2;
  }
  torchscript::Sizes sizes = {1, 3, 224, 224};
  if (argc > 2) sizes.clear();
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  try {
    auto module = torchscript::load(argv[1]);
    std::vector<torchscript::Value> inputs;
    inputs.push_back(torchscript::ones(sizes));
    const auto start = std::chrono::steady_clock::now();
    torchscript::Tensor output = module.forward(inputs).toTensor();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << torchscript::to_string(output) << "\n";
    std::cerr << "forward took " << seconds.count() << " s\n";
  } catch (const torchscript::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
