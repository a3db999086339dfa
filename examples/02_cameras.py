"""The same plane through four cameras: pinhole, a ray per pixel, fisheye, orthographic.

The camera decides what the potential is (log-depth or depth) and which ray a pixel looks along. Planes come out exactly
through each of them.
"""

import numpy as np

from quotientgraph import Orthographic, Pinhole, RayMap, integrate, metrics

SHAPE = (90, 120)
NORMAL = np.array([0.3, -0.4, -0.87])  # OpenCV frame: towards the camera, a little right and up
NORMAL /= np.linalg.norm(NORMAL)

pinhole = Pinhole.from_fov(50, SHAPE)
cameras = {
    "pinhole": pinhole,
    "intrinsic matrix": pinhole.matrix,  # a 3×3 matrix in OpenCV order will do
    "ray map": RayMap(pinhole.rays(SHAPE)),  # any central camera, as one ray per pixel
    "fisheye": RayMap.fisheye(100, SHAPE),
    "orthographic": Orthographic(pixel_size=0.1),
}


def true_depth(camera):
    """Depth of the plane n·X = −1, or of an equal one for parallel rays."""
    if isinstance(camera, Orthographic):
        v, u = np.indices(SHAPE)
        return -camera.pixel_size * (NORMAL[0] * u + NORMAL[1] * v) / NORMAL[2]
    camera = Pinhole.from_matrix(camera) if isinstance(camera, np.ndarray) else camera
    depth = -1 / (camera.rays(SHAPE) @ NORMAL)
    return np.where(depth > 0, depth, np.nan)  # a wide lens looks past the horizon of the plane


errors = {}
for name, camera in cameras.items():
    truth = true_depth(camera)
    normals = np.tile(NORMAL, (*SHAPE, 1))
    result = integrate(normals, mask=np.isfinite(truth), camera=camera, frame="opencv")
    errors[name] = metrics.relative_error(result.depth, truth, offset=isinstance(camera, Orthographic))
    print(f"{name:17} relative error {errors[name]:.1e}")
