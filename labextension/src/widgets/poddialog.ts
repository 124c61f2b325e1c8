/** A dialog body that asks for another image or size of a kernel's pod. */

import { Widget } from '@lumino/widgets';

import type { KernelRestart, Requirement, SessionKernel } from '../api/types';
import { sizeLabel } from '../format/sizes';
import type { Speech } from '../format/speech';

type Field = keyof KernelRestart;

/** The body; its value holds only what differs from the pod as it is. `defaults` is what a pod has where nothing was asked. */
export function podDialogBody(
  kernel: SessionKernel,
  defaults: Requirement,
  speech: Speech
): Widget & { getValue(): KernelRestart } {
  const { trans } = speech;
  const node = document.createElement('div');
  node.className = 'dra-PodDialog';
  const words: Record<Field, string> = {
    image: trans.__('Image'),
    cpu: trans.__('CPUs'),
    host_memory: trans.__('Host memory')
  };
  const inputs = (Object.keys(words) as Field[]).map((field): [Field, HTMLInputElement] => {
    const label = document.createElement('label');
    label.textContent = words[field];
    const input = document.createElement('input');
    input.className = 'jp-mod-styled';
    input.name = field;
    input.value = kernel[field] ?? '';
    input.placeholder = field === 'host_memory' ? sizeLabel(defaults.host_memory) : (defaults[field] ?? '');
    label.appendChild(input);
    node.appendChild(label);
    return [field, input];
  });
  const note = document.createElement('p');
  note.textContent = trans.__(
    'The device is kept; variables are lost. The new pod is placed first: if there is no room, the kernel stays.'
  );
  node.appendChild(note);
  const getValue = (): KernelRestart =>
    Object.fromEntries(
      inputs
        .map(([field, input]) => [field, input.value.trim()])
        .filter(([field, value]) => value && value !== (kernel[field as Field] ?? ''))
    );
  return Object.assign(new Widget({ node }), { getValue });
}
