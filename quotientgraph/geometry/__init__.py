"""What a camera and normals say: rays, potentials, the jump along an edge, and the mesh of a depth map."""
