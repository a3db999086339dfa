"""What normals leave open: parts that could sit elsewhere, taken or settled by a contact or by known depths."""

import numpy as np

from quotientgraph import integrate, scenes
from quotientgraph.metrics import relative_error

scene = scenes.random("shelves", 3)
result = integrate(scene.normals, scene.mask, scene.camera, frame="opencv")


def error(found):
    return 100 * relative_error(found.depth, scene.depth)


print(
    f"error {error(result):.1f} %; {np.nanmean(result.confidence < 0.5):.0%} of the pixels are rather wrong than right"
)
for text in result.warnings:
    print(f"warning: {text}")

# Parts that could sit elsewhere, those first that are probable and would move much.
for number, one in enumerate(result.alternatives, 1):
    print(
        f"{number}. {one.text}: better with a probability of {one.probability:.0%}; error {error(result.take(one)):.1f} %"
    )

# Taking one gives another reconstruction, with the alternatives that are left.
best = min(result.alternatives, key=lambda one: error(result.take(one)))
taken = result.take(best)
print(f"taken: {taken.taken[0]}; {len(taken.alternatives)} alternatives are left")

# The same by what one sees in a photograph: two pixels that touch.
touching = result.settle(contacts=[best.contact])
print(f"the pixels {best.contact[0]} and {best.contact[1]} touch: error {error(touching):.1f} %")

# Or by the depth of pixels: the least sure part against the surest one.
sure = np.where(scene.mask, result.confidence, np.nan)
places = [np.unravel_index(find(sure), sure.shape) for find in (np.nanargmax, np.nanargmin)]
anchored = result.settle(anchors=[(int(u), int(v), scene.depth[v, u]) for v, u in places])
print(f"two depths are known: error {error(anchored):.1f} %")
