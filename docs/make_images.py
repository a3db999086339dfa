"""Draw the pictures of README and docs from the embedded scenes: python docs/make_images.py"""

from pathlib import Path

import numpy as np

from quotientgraph import integrate, scenes
from quotientgraph.io import write_image
from quotientgraph.report import label_picture, overview_picture
from quotientgraph.report.pictures import stable_labels

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    scene = scenes.make("room", shape=(300, 375))
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv")
    write_image(IMAGES / "room.png", overview_picture(result))

    scene = scenes.make("spheres", shape=(240, 300))
    merged = integrate(scene.normals, scene.mask, scene.camera, "opencv", angle=2.0, merge_every=5)
    panels = [label_picture(labels) for labels in stable_labels(merged.levels)[:3]]
    gap = np.full((240, 12, 3), 255, dtype=np.uint8)
    write_image(IMAGES / "levels.png", np.hstack([panels[0], gap, panels[1], gap, panels[2]]))
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
