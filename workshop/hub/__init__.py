"""A hub for a class on one machine: everyone opens one address, logs in, and has an own JupyterLab
with the notebooks in it.

- `classroom.py`  what one classroom is, and that it is safe
- `__main__.py`   `make hub`: asks, prepares, says what to write on the board, starts JupyterHub
- `preparing.py`  what all students share: a template of a home, sources to read, settings
- `handout.py`    what each student is given, and that nothing of theirs is overwritten
- `spawner.py`    a student's server: its turn to start, its variables, its limit to memory
- `proxy.py`      the one address, behind which the hub and all servers listen
- `jupyterhub_config.py`  tells JupyterHub all this

Elsewhere: `tljh.py` (The Littlest JupyterHub), `values.yaml` (Kubernetes), and `binder/` at the top
of the project. README.md is the instructor's page.
"""
