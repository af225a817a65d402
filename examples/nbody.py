"""Bodies that attract each other: tiles of positions in shared memory, and a check that energy is
conserved.
"""

import numpy as np

try:
    from matplotlib.image import imsave
except ImportError:
    imsave = None  # nothing is drawn

import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule

COUNT, BLOCK, STEPS, DT = 512, 128, 40, np.float32(0.006)
SOFT = 0.02  # added to squared distances, so that close bodies do not attract each other without limit

source = """
__device__ float3 pull(float4 me, float4 other, float3 sum)
{
    float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z;
    float r = rsqrtf(x * x + y * y + z * z + SOFT), s = other.w * r * r * r;
    return make_float3(sum.x + s * x, sum.y + s * y, sum.z + s * z);
}
// Changes the velocities by the attraction of all bodies for a time dt.
__global__ void kick(const float4 *position, float4 *velocity, float dt)
{
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 me = position[i];
    float3 sum = make_float3(0, 0, 0);
    for (int start = 0; start < COUNT; start += BLOCK) {
        tile[threadIdx.x] = position[start + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < BLOCK; k++) sum = pull(me, tile[k], sum);
        __syncthreads();
    }
    velocity[i].x += dt * sum.x, velocity[i].y += dt * sum.y, velocity[i].z += dt * sum.z;
}
__global__ void move(float4 *position, const float4 *velocity, float dt)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 v = velocity[i];
    position[i].x += dt * v.x, position[i].y += dt * v.y, position[i].z += dt * v.z;
}
"""
module = SourceModule(source, options=[f"-DCOUNT={COUNT}", f"-DBLOCK={BLOCK}", f"-DSOFT={SOFT}f"])
kick, move = (module.get_function(name) for name in ("kick", "move"))


def energy(position, velocity):
    """Kinetic and potential energy."""
    places, mass = position[:, :3].astype(float), position[0, 3]
    square = ((places[:, None] - places) ** 2).sum(-1) + SOFT
    kinetic = mass * (velocity[:, :3].astype(float) ** 2).sum() / 2
    return kinetic - mass**2 * ((square**-0.5).sum() - COUNT * SOFT**-0.5) / 2


generator = np.random.default_rng(1)
position = np.full((COUNT, 4), 1 / COUNT, np.float32)  # the fourth number is the mass
position[:, :3] = generator.normal(size=(COUNT, 3)) * [0.6, 0.6, 0.1]
velocity = np.zeros_like(position)
velocity[:, 0], velocity[:, 1] = -0.9 * position[:, 1], 0.9 * position[:, 0]  # it turns
before = energy(position, velocity)

places, speeds = gpuarray.to_gpu(position), gpuarray.to_gpu(velocity)
picture = np.zeros((256, 256))
shape = {"block": (BLOCK, 1, 1), "grid": (COUNT // BLOCK, 1)}
for _ in range(STEPS):  # the leapfrog method, which conserves energy well
    kick(places, speeds, DT / 2, **shape)
    move(places, speeds, DT, **shape)
    kick(places, speeds, DT / 2, **shape)
    seen = places.get()
    picture += np.histogram2d(seen[:, 0], seen[:, 1], bins=256, range=[(-1.6, 1.6)] * 2)[0]
change = energy(places.get(), speeds.get()) / before - 1
print(f"{COUNT} bodies, {STEPS} steps: the energy changed by {change:.1e}")
assert abs(change) < 1e-3
if imsave:
    imsave("nbody.png", np.log1p(picture), cmap="inferno")
