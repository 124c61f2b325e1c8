/** The messages of the interface by number, as people read them: the one place where their exact words are settled. */

export const MESSAGES: Readonly<Record<string, readonly string[]>> = {
  '1 fits': ['Fits now · 6 devices on 3 nodes. Likely an A100 40 GB on a100-mig-0.', 'Fits now · 1 device on 1 node.'],
  '2 busy': [
    'All taken for now · 8 devices would fit, none is free. The first known lease ends at 12:41, in 38 min, unless extended.',
    'All taken for now · 1 device would fit, none is free.'
  ],
  '3 impossible': ['Not possible here · No node has this, even with everything free.'],
  '4 unknown, rights': [
    'Cannot be sure · 8 devices match, 3 are held that you can see: at most 5 free. You may not see other namespaces. Launching tells.'
  ],
  '5 unknown, search limit': ['Cannot be sure · Too many combinations to try in time. Launching tells.'],
  '6 unknown, device plugin': ['Cannot be sure · node-b also gives its cards out another way; 2 may be in use.'],
  '7 invalid': ['Needs a correction · 1 of your conditions cannot work.'],
  '8 scales from zero': ['Starts a node first · No such node runs now. One is started for you; allow some minutes.'],
  '9 limit or quota': [
    'Your limit is reached · You may hold 2 devices and hold 2: bert-train, slice-demo. Stop one, or ask your admin for more.',
    'Your team’s limit is reached · team-a uses 8 of 8.'
  ],
  '10 policy': [
    'Not allowed for you · Only group vision may use high-memory-gpu. Nearest allowed: Medium GPU.',
    'Not allowed for you · The image other:1 is not allowed. Allowed: ours:*, base.',
    'Not allowed for you · Conditions of your own are not allowed here.',
    'Not allowed for you · The longest time allowed is 12 h.'
  ],
  '11 kind': ['another kind of device · network cards, TPUs, CPUs'],
  '12 memory': ['less than 141 GB · nearest: H100, 80 GB', 'memory size not known'],
  '13 near miss': ['just short: 79.65 GiB, you ask for 80 GiB. Write 80 GB to mean what is on the card.'],
  '14 condition': [
    'not NVIDIA Hopper or newer · nearest: MI300X, 192 GB',
    'do not state driver version',
    'does not state driver version'
  ],
  '15 condition failed': [
    'Your condition stops with an error on gpu-0 of node-b: it has no type. The cluster would refuse the whole request.'
  ],
  '16 partner': ['no RDMA card on the same PCIe root · H200 on 232 nodes'],
  '17 one node': [
    'devices are free, but no node has more than 1. A notebook runs on one node.',
    'device is free, but no node has more than 1. A notebook runs on one node.'
  ],
  '18 out of service': [
    'out of service · marked by driver: too many memory errors',
    'out of service · marked by driver: too many memory errors (Xid 63)',
    'out of service · marked by driver: the card cannot be reached (Xid 79)',
    'out of service · marked by driver: xid=9999',
    'out of service · marked by driver: the card is gone (gpu-lost)',
    'out of service · marked by admin: maintenance=friday',
    'out of service · marked by driver or admin'
  ],
  '19 taken': ['taken · 3 by you, 2 by mira, 7 not visible to you'],
  '20 parts': [
    'on 5 cards with no room left for a 2g.10gb part · 3 of 8 slots free, 4 needed in a row',
    'on 1 card with no room left for a 2g.10gb part · memory-slices: 3 of 8 left, 4 needed'
  ],
  '21 share': [
    'has no room for 4 GiB · 3 GiB asked; gpu-0 gives steps of 2 GiB, so 4 GiB; 0 of 16 GiB left',
    'have no room for 4 GiB · 0 of 16 GiB left on gpu-0',
    'have no room for 16 GiB · No amount asked: takes the whole device.'
  ],
  '22 inventory': [
    'on 2 nodes that publish an incomplete list right now · usually over in a minute',
    'on 1 node that publishes an incomplete list right now · usually over in a minute',
    'on 2 nodes whose lists have a mistake of the driver · your admin can help'
  ],
  '23 relaxations': [
    'Join your session bert-train: start now',
    'Without the network card: 240 free',
    'Take 80 GB: 240 free',
    'Also accept MI300X: 240 free',
    '2 instead of 4 devices: 240 free',
    'A part of a card is enough: 240 free',
    'Use Medium GPU: 240 free',
    'Accept devices marked maintenance: 240 free'
  ],
  '25 waiting': [
    'Waiting for 12:04, at most 2 h. · 8 of 8 taken · Next known change: a lease ends at 14:30. It starts by itself; you can close this page.',
    'Waiting for 12:04. · It starts by itself; you can close this page.'
  ],
  '26 order': ['You are 3rd in team-a’s queue, as of 12:04.', 'You are 11th in team-a’s queue, as of 12:04.'],
  '27 holder': [
    'You · bert-train | gpu-3 · idle for 40 min',
    'mira · 2 devices | lease ends 14:30',
    'namespace team-b · 1 device | a job, no end known',
    '4 devices | you may not see the holder',
    'namespace team-c · 1 device | held, not used (no pod) since 6 d'
  ],
  '28 steps': [
    'Request checked',
    'Claim created · analysis-7k2xq',
    'Device reserved · H100 80 GB · gpu-3 on dgx-h100-0',
    'Placed on dgx-h100-0',
    'Getting the image · cuda:1, last time 1:05',
    'Starting Python 3',
    'Connecting'
  ],
  '29 restart waits': [
    'Placing another pod; the kernel goes on meanwhile · 0:14',
    'Waiting for the old kernel to let go of the device · 0:14',
    'The pod was lost; the kernel starts in another one · 0:14'
  ],
  '30 ready': [
    'Ready after 3.4 s, as predicted: gpu-3.',
    'Ready after 3.4 s on gpu-3; gpu-4 was predicted but taken meanwhile.'
  ],
  '31 ended early': [
    'There is no image x. Check its name. Everything was given back.',
    '16 GiB is over the 8 GiB allowed in team-a. Everything was given back.',
    'The tier x does not exist; there are: a, b. Everything was given back.',
    'The driver could not prepare gpu-4: no more memory. Everything was given back.'
  ],
  '32 giving back': [
    '0:14, waits for the old pod to end',
    'still held after 2 min: the driver on node-b does not answer. Your admin can help; you can go on elsewhere.'
  ],
  '33 whole': ['Whole device. Nobody else is on it.'],
  '34 MIG': ['A fixed part (MIG). Own memory and own compute, kept apart by the card.'],
  '35 time slices': ['Taking turns (time slices). Memory is not divided: one notebook can crowd out the others.'],
  '36 MPS': [
    'Side by side (MPS). Runs at the same time; memory limit 20 GiB each. A crash of one can end the others.',
    'Side by side (MPS). Runs at the same time; no memory limit. A crash of one can end the others.'
  ],
  '37 capacity': ['An amount of memory, counted but not enforced.'],
  '38 one claim, two notebooks': [
    'Run eval.ipynb on bert-train? They share all of its memory; nothing keeps them apart. Stopping one keeps the device for the other.',
    'Run eval.ipynb on bert-train? They share all of its memory; nothing keeps them apart. Stopping one keeps the device for the other. Its variables are lost.'
  ],
  '39 idle': ['Given back in 4 min.', 'idle 40 min; device use not known, so it is kept'],
  '40 wish, gone choice': [
    'analysis.ipynb asks for at least 40 GB; 80 GB is better.',
    'analysis.ipynb asks for at least 40 GB.',
    'Your last choice, gpu-old, is no longer offered. Choose again.',
    'Nearest to what this notebook asks for: A100 80 GB instead of H100.',
    'Nearest to what this notebook asks for: Take 40 GB.'
  ],
  '41 lease': [
    'bert-train ends in 10 min · train.ipynb is busy; eval.ipynb has been idle for 12 min. Save what you need.',
    'bert-train ends in 10 min · It has reached the longest time allowed, 12 h. A running cell is stopped at 14:30.'
  ],
  '42 host memory': [
    'The kernel was ended: out of host memory · It used more than its 16 GiB of the node’s memory. The device’s own memory was not the problem (31.0 of 79.6 GiB).'
  ],
  '43 idle, lease, by you, by admin': [
    'The session ended: not used for 30 min',
    'The session ended: its time was over (4 h 10 min)',
    'You stopped it.',
    'ops stopped it: maintenance.'
  ],
  '44 evicted': [
    'The node dgx-h100-0 ran low on disk and ended the kernel.',
    'The node dgx-h100-0 was taken out of work.',
    'It made room for work with a higher priority.'
  ],
  '45 device': [
    'The driver marked gpu-3 on dgx-h100-0 as broken (gpu-lost) and the cluster ended the kernel. Nothing in your code caused this.'
  ],
  '46 node lost, pod deleted, claim deleted': [
    'dgx-h100-0 has not answered since 12:03.',
    'Somebody deleted the kernel’s pod.',
    'Somebody deleted the claim.'
  ],
  '47 crash': ['The kernel stopped by itself (exit code 1).', 'It crashed in native code (segmentation fault).'],
  '48 all ends add': [
    'Variables are gone; the notebook is kept. The device was given back at 12:03. A device like it is free now.',
    'Variables are gone; the notebook is kept.'
  ],
  '49 right size': [
    'Peak was 9.1 of 79.6 GiB: a 24 GB device would do, from €0.60/h.',
    'Peak was 9.1 of 79.6 GiB: a 24 GB device would do.'
  ],
  '50 mismatch': [
    'This kernel sees 2 devices but was given 1. The extra one (GPU-9c41…cccc-0e) may belong to someone else; do not use it.'
  ],
  '52 not available': ['not available on a part', 'not stated by the driver', 'not readable: no right'],
  '53 output gap': [
    '1,204 lines of output from 12:02–12:18 were not kept.',
    '1 line of output from 12:02 was not kept.',
    '3 MiB of output was not kept.'
  ],
  '54 states': [
    'No devices published · The driver gpu.nvidia.com runs on 2 nodes but lists 0 devices. Waiting does not help; an admin can look into the driver.',
    'No devices published · The driver gpu.nvidia.com runs on 1 node but lists 0 devices. Waiting does not help; an admin can look into the driver.',
    'No devices published · No driver lists a device here. Waiting does not help; an admin can look into the drivers.',
    'You may not see the devices · Launching still works, but not what is free or why it waits. For that, your admin can grant this:',
    'No cluster yet · Nothing tells this server where a cluster is. You can try everything with a small one on this machine: real requests, pretend devices.',
    'This cluster is too old · It offers devices through resource.k8s.io/v1beta1. Sessions need v1, which comes with Kubernetes 1.34. Manifests can be checked and moved to v1 here.',
    'The server part is missing · This page has the sidebar, but the Jupyter server does not answer at /jupyter-dra. Enable it and reload.'
  ],
  '55 stop': [
    'Stop bert-train? train.ipynb is busy. Variables of 1 notebook are lost; files are kept.',
    'Stop bert-train? train.ipynb is busy. Also on it: eval.ipynb (idle). Variables of 2 notebooks are lost; files are kept.',
    'Stop bert-train? Files are kept.'
  ],
  '56 replace': ['Replace the kernel of analysis.ipynb? Its variables are lost.'],
  '58 simulated': [
    'simulated',
    'gpu-3, simulated',
    'dgx-lab, simulated / team-a',
    'dgx-lab, simulated',
    'gpu-0 · H100 80 GB · simulated · free'
  ]
};
