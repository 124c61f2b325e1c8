/** Plain text in the main area or in a dialog: logs, records, findings. Never markup. */

import { ReactWidget } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';
import { useState, type ReactElement } from 'react';

import { Button } from '../components/controls';
import type { Speech } from '../format/speech';
import { plainLines } from '../format/text';

function Pane(props: { text: string; speech: Speech; reload: (() => Promise<string>) | null }): ReactElement {
  const [text, setText] = useState(props.text);
  const { reload } = props;
  return (
    <div className="dra-TextPane-inner">
      {reload && <Button onClick={async () => setText(await reload())}>{props.speech.trans.__('Read again')}</Button>}
      <pre tabIndex={0}>{plainLines(text)}</pre>
    </div>
  );
}

export class TextPane extends ReactWidget {
  constructor(
    private readonly _text: string,
    private readonly _speech: Speech,
    private readonly _reload: (() => Promise<string>) | null
  ) {
    super();
    this.addClass('dra-TextPane');
    this.id = `dra-text-${Date.now().toString(36)}`;
  }

  protected override render(): ReactElement {
    return <Pane text={this._text} speech={this._speech} reload={this._reload} />;
  }
}

/** A dialog body with one text area; its value is the dialog's. */
export function textDialogBody(placeholder: string): Widget & { getValue(): string } {
  const area = document.createElement('textarea');
  area.className = 'dra-TextArea';
  area.placeholder = placeholder;
  area.setAttribute('aria-label', placeholder);
  area.rows = 16;
  const node = document.createElement('div');
  node.appendChild(area);
  return Object.assign(new Widget({ node }), { getValue: () => area.value });
}
