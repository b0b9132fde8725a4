"""CPU kernels, one file per family. A kernel takes the schema's arguments, positionally and in order.

Two kinds. A *leaf* kernel (`dispatch: {CPU: ...}`) looks at tensors through `array(t)` and never calls an operator: what
autograd must know of it is its derivative. A *composite* kernel calls operators only, so autograd sees through it.

How the real one differs: the same split exists, under the names CPU and CompositeImplicitAutograd.
"""
