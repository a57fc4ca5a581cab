"""Spheres in bulk, moved by time steps of one impact problem each."""
