// The talk's program against the real libtorch, the C++ library inside the `torch` wheel.
//
//   libtorch_example resnet.pt [sizes of the input: 1 3 224 224]
//
// In PyTorch 1.0 `load` gave a shared_ptr<script::Module>, so the slide says `module->forward(inputs)`; today it is a value.
//
// How ours differs: ../example.cpp is the same program, and needs no library.
#include <torch/script.h>

#include <iostream>

int main(int argc, const char* argv[]) {
  if (argc < 2) {
    std::cerr << "usage: libtorch_example MODEL.pt [sizes...]\n";
    return 2;
  }
  std::vector<int64_t> sizes = {1, 3, 224, 224};
  if (argc > 2) sizes.clear();
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  try {
    torch::NoGradGuard no_grad;
    auto module = torch::jit::load(argv[1]);
    std::vector<torch::jit::IValue> inputs;
    inputs.push_back(torch::ones(sizes));
    at::Tensor output = module.forward(inputs).toTensor();
    std::cout << output.sizes() << "\n" << output.flatten().slice(0, 0, 10) << "\n";
  } catch (const c10::Error& error) {
    std::cerr << error.what_without_backtrace() << "\n";
    return 1;
  }
}
