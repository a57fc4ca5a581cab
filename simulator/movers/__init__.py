"""How bodies in lasting contact and on joints move: the force problem, contact modes and their steps."""
