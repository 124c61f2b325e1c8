/** The words of a button in an output that asks the page for something, and what its press will do. */

import type { Speech } from './speech';

export interface AskWords {
  readonly button: string;
  readonly can: boolean;
  /** What the press leads to, or why it cannot be pressed; empty where the button says all. */
  readonly after: string;
}

/** `action`: what is asked; `verdict`: what a plan said of the request, null where none was made. */
export function asksWords(speech: Speech, action: string, verdict: string | null): AskWords {
  const { trans } = speech;
  const asked = { can: true, after: '' };
  switch (action) {
    case 'launch':
    case 'wait': {
      const button = action === 'wait' ? trans.__('Wait for a device …') : trans.__('Launch for this notebook …');
      if (verdict === 'impossible') {
        return { button, can: false, after: trans.__('No node has this, even with everything free.') };
      }
      if (verdict === 'invalid') {
        return { button, can: false, after: trans.__('The request needs a correction.') };
      }
      return {
        button,
        can: true,
        after: trans.__('Replaces this kernel; its variables are lost. You are asked first.')
      };
    }
    case 'attach':
      return { button: trans.__('Use it for this notebook …'), ...asked };
    case 'extend':
      return { button: trans.__('Extend the session …'), ...asked };
    case 'stop':
      return { button: trans.__('Stop the session …'), ...asked };
    default:
      return { button: trans.__('Open GPU sessions'), ...asked };
  }
}
