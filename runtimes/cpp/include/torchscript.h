// A runtime for TorchScript archives: include this one header.
//
//   auto module = torchscript::load("resnet.pt");
//   std::vector<torchscript::Value> inputs;
//   inputs.push_back(torchscript::ones({1, 3, 224, 224}));
//   torchscript::Tensor output = module.forward(inputs).toTensor();
//
// What it takes to run a model without Python, in the order in which a file is read. It mirrors torch/script.h.
//
// How the real one differs: libtorch is hundreds of megabytes, compiled once; these headers are compiled into each program.
#pragma once

#include "torchscript/error.h"        // one type of error
#include "torchscript/mapped_file.h"  // the file appears in memory
#include "torchscript/inflate.h"      // compressed records
#include "torchscript/zip.h"          // the records of the archive
#include "torchscript/tensor.h"       // sizes and strides over shared bytes
#include "torchscript/value.h"        // everything a variable can hold
#include "torchscript/pickle.h"       // the module's attributes: data.pkl
#include "torchscript/lexer.h"        // the code: text to tokens
#include "torchscript/parser.h"       // tokens to trees
#include "torchscript/linker.h"       // what the names in the trees mean
#include "torchscript/format.h"       // values as text
#include "torchscript/schema.h"       // signatures of operators
#include "torchscript/operators.h"    // the operators
#include "torchscript/interpreter.h"  // running the trees
#include "torchscript/module.h"       // load and forward
