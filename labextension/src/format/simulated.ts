/** Message 58: nothing computes on such a device, and nobody shall be in doubt of it. */

import type { Speech } from './speech';
import { cutMiddle, fill, sentence, type Sentence } from './text';

/** The word beside every such device. */
export function simulatedWord(speech: Speech): string {
  return speech.trans.__('simulated');
}

/** "bert-train · H100 80 GB, simulated": what stands beside a name that has such devices. */
export function withSimulated(speech: Speech, words: string, simulated: boolean): string {
  return simulated ? fill(speech.trans.__('{words}, simulated'), { words }) : words;
}

/** What the bar says of where one is: "dgx-lab, simulated / team-a". */
export function barWords(speech: Speech, cluster: string, namespace: string | null, simulated: boolean): Sentence {
  const { trans } = speech;
  const values = { cluster: cutMiddle(cluster), namespace: cutMiddle(namespace ?? '') };
  if (simulated) {
    return sentence(
      namespace ? trans.__('**{cluster}**, simulated / {namespace}') : trans.__('**{cluster}**, simulated'),
      values
    );
  }
  return sentence(namespace ? trans.__('**{cluster}** / {namespace}') : '**{cluster}**', values);
}
