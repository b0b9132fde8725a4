"""The Open Inference Protocol (KServe's v2): what a client and a server say to each other.

- `open_inference.proto`: the schema, the one source of truth
- `schema.py`: compiles it, and any other, to message classes
- `datatypes.py`: "FP32" is `float32`
- `wire.py`: the bytes of a message, and where in them a tensor lies
- `messages.py`: a message to an `InferRequest`, an `InferResponse` to a message, without a copy of
  a tensor
- `policies.py`: which tensors are refused

How the real one differs: KServe and Triton let protoc generate classes at build time and let
protobuf copy the tensors.
"""
