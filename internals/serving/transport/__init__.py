"""How requests come in and answers go out: gRPC over HTTP/2, and REST over HTTP/1.1.

- `grpc_server.py`: listening, health, reflection
- `grpc_service.py`, `grpc_models.py`: the calls of the Open Inference Protocol
- `rest.py`, `rest_tensors.py`: the same protocol as REST, with JSON or binary tensors
- `security.py`: TLS, client certificates, a token

How the real one differs: Triton has both too, in C++ (`server/src/grpc`, `server/src/http_server.cc`), and one for SageMaker.
"""
