"""How requests come in and answers go out: gRPC over HTTP/2, and REST over HTTP/1.1.

- `grpc_server.py`, `http_server.py`: listening; over gRPC also health and reflection
- `grpc_service.py`: the calls of the Open Inference Protocol that infer; `grpc_models.py`: the
  small ones
- `unread.py`: answers that clients do not take cannot fill the memory
- `rest.py`: the same protocol as REST; `rest_models.py`: its small questions; `rest_errors.py`:
  what goes wrong, as JSON
- `rest_bodies.py`: bodies received and sent; `rest_requests.py`, `rest_responses.py`: what is in
  them; `rest_tensors.py`: tensors in JSON
- `security.py`: TLS, client certificates, a token

How the real one differs: Triton has both too, in C++ (`server/src/grpc`,
`server/src/http_server.cc`), and one for SageMaker.
"""
