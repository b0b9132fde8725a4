/**
 * Every operator of the runtime: loading a file of this folder declares what it holds.
 *
 * How the real one differs: about 2500 operators in native_functions.yaml, with generated code between them and their kernels.
 */
"use strict";

require("./unary");
require("./binary");
require("./reductions");
require("./matmul");
require("./convolution");
require("./pooling");
require("./normalization");
require("./activations");
require("./random");
require("./shape");
require("./indexing");
require("./padding");
require("./factories");
require("./einsum");
require("./sorting");
require("./attention");
require("./upsample");
require("./losses");
require("./conversions");
require("./scalars");
require("./containers");
require("./strings");
require("./aliases"); // last: of what the others declared
