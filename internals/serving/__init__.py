"""Serving: a saved model behind gRPC and HTTP, many requests to a batch. Floor 7 of the house, and the talk's Section III."""
