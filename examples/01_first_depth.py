"""From a normal map to depth: one call.

A normal map says how a surface is turned at every pixel; integration finds the surface. This script uses an embedded
scene, a flight of stairs, whose true depth is known. With your own data, pass your own arrays.
"""

from quotientgraph import integrate, metrics, scenes

scene = scenes.make("stairs", shape=(120, 150))

# `frame` says which way the axes of the normals point; scenes use OpenCV's (x right, y down, z forward).
result = integrate(scene.normals, mask=scene.mask, camera=scene.camera, frame="opencv")

print(f"{result.levels[0].n_components} components, {len(result.history)} iterations, converged: {result.converged}")
print(f"depth: {result.depth.shape} {result.depth.dtype}, points: {result.points.shape}")
for text in result.warnings:
    print("note:", text)

# Depth is known up to one factor; the comparison removes it.
error = metrics.relative_error(result.depth, scene.depth)
print(f"mean relative error {100 * error:.2f} %")
