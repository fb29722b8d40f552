# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training whose gradients go over all NICs: nothing in it is ours but variables.

    export NCCL_NET_PLUGIN=tcpx-p2p NCCL_NET=tcpx-p2p   # for every rank
    torchrun --nnodes 2 --node-rank N --master-addr HOST --nproc-per-node 1 ddp.py [STEPS]
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

if "LOCAL_RANK" not in os.environ or len(sys.argv) > 2:
    sys.exit(__doc__)
if not torch.cuda.device_count():
    sys.exit("ddp.py: torch finds no GPU, and NCCL moves nothing else")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
dist.init_process_group("nccl")
torch.manual_seed(dist.get_rank())  # DDP starts all ranks with the weights of rank 0
layers = [torch.nn.Linear(2048, 2048) for _ in range(16)]
model = DistributedDataParallel(torch.nn.Sequential(*layers).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
for step in range(steps + 3):
    if step == 3:  # the first ones connect
        torch.cuda.synchronize()
        began = time.monotonic()
    optimizer.zero_grad()
    model(torch.randn(8, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
torch.cuda.synchronize()
weights = torch.stack([p.double().sum() for p in model.parameters()])
others = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(others, weights)
assert all(torch.equal(w, weights) for w in others), "ranks have different weights"
if dist.get_rank() == 0:
    print("%.2f steps/s, equal weights on %d ranks" % (steps / (time.monotonic() - began), len(others)))
dist.destroy_process_group()
