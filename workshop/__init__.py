"""What an instructor needs besides the notebooks: paths through them, speaker notes, and
`workshop.hub`, a hub for the class.
"""
