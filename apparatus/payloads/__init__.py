"""What a tensor costs on its way into a message: bytes and copies, for each way of writing it down.
Notebook 24 walks through it.

- `lengths.py`: how many bytes, exactly, without writing one of them
- `paths.py`: from the client's array to the server's tensor, step by step, six ways
- `copies.py`: which of those steps copied, and how much memory they took: looked up, not believed
- `annotated.py`: every byte of a protobuf message and what it is for
- `two_schemas.py`: a client with one schema calls a server with another

How the real one differs: PyTorch has no wire format; TorchServe takes whatever bytes the handler of
a model can read.
"""
