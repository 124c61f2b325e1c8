/** The request as chips: each says one condition, a press removes it. */

import { useRef, type KeyboardEvent, type ReactElement } from 'react';

import type { ChipField } from '../model/draft';
import { Icon } from './icons';
import { Name, useSpeech } from './speech';
import { fill } from '../format/text';

export interface Chip {
  field: ChipField;
  text: string;
}

export interface ChipsProps {
  chips: readonly Chip[];
  undo: string | null;
  onRemove: (field: ChipField) => void;
  onUndo: () => void;
}

export function Chips({ chips, undo, onRemove, onUndo }: ChipsProps): ReactElement | null {
  const { trans } = useSpeech();
  const list = useRef<HTMLUListElement>(null);
  if (!chips.length && undo === null) {
    return null;
  }
  const remove = (field: ChipField, index: number): void => {
    onRemove(field);
    // Focus goes to the chip that takes its place.
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll('button') ?? [];
      (buttons[Math.min(index, buttons.length - 1)] as HTMLElement | undefined)?.focus();
    });
  };
  return (
    <div className="dra-Chips">
      <div className="dra-Label">
        <strong>{trans.__('You ask for')}</strong>
      </div>
      <ul ref={list} className="dra-Chips-list">
        {chips.map((chip, index) => (
          <li key={chip.field}>
            <button
              type="button"
              className="dra-Chip"
              aria-label={fill(trans.__('Remove: {condition}'), { condition: chip.text })}
              onClick={() => remove(chip.field, index)}
              onKeyDown={(event: KeyboardEvent) => {
                if (event.key === 'Delete' || event.key === 'Backspace') {
                  event.preventDefault();
                  remove(chip.field, index);
                }
              }}
            >
              <Name text={chip.text} />
              <Icon name="close" size={12} />
            </button>
          </li>
        ))}
        {undo !== null && (
          <li>
            <button type="button" className="dra-Chip dra-mod-undo" onClick={onUndo}>
              {fill(trans.__('Undo: {before}'), { before: undo })}
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}
