"""The rooms: one module per picture, each a scene made from live objects. Readers reach them as
`viz.<room>`.
"""
