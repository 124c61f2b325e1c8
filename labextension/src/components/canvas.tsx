/** Many nodes on one canvas: blocks of devices, or one mark per node; only what changed is drawn again. */

import {
  memo,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement
} from 'react';

import type { Device } from '../api/types';
import type { NodeGroup } from '../model/grouping';
import { nodeSummary } from '../format/devices';
import { count } from '../format/numbers';
import { fill } from '../format/text';
import { Drawing, layoutGroup, nodeAt, readPalette, type GroupLayout } from './painter';
import { Picture } from './picture';
import { Name, useSpeech } from './speech';

export interface CanvasProps {
  groups: readonly NodeGroup[];
  fits: (device: Device) => boolean;
  initialOf: (device: Device) => string;
  marks: boolean;
  now: number;
}

function useWidth(): [React.RefObject<HTMLDivElement>, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  // Before the first paint, so that the first picture has its width.
  useLayoutEffect(() => setWidth(Math.floor(ref.current?.getBoundingClientRect().width ?? 0)), []);
  useEffect(() => {
    const node = ref.current;
    if (!node || typeof ResizeObserver === 'undefined') {
      return;
    }
    const observer = new ResizeObserver(entries => setWidth(Math.floor(entries[0]?.contentRect.width ?? 0)));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Light and dark redraw everything; a number that changes with the theme is enough to know. */
function useTheme(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTurn(value => value + 1));
    observer.observe(document.body, {
      attributes: true,
      attributeFilter: ['data-jp-theme-light', 'data-jp-theme-name']
    });
    return () => observer.disconnect();
  }, []);
  return turn;
}

interface GroupProps extends Omit<CanvasProps, 'groups'> {
  group: NodeGroup;
  width: number;
  theme: number;
}

/** One canvas; what `Drawing` finds unchanged is not drawn again. */
const GroupCanvas = memo(function GroupCanvas(props: GroupProps): ReactElement {
  const { group, fits, marks, width, theme } = props;
  const speech = useSpeech();
  const { trans } = speech;
  const [opened, setOpened] = useState<string | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<{ key: string; drawing: Drawing } | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const layout: GroupLayout = useMemo(() => layoutGroup(group, width, marks), [group, width, marks]);
  useEffect(() => {
    const node = canvas.current;
    const context = node?.getContext('2d');
    if (!node || !context || width <= 0) {
      return;
    }
    const scale = window.devicePixelRatio || 1;
    const key = [width, layout.height, layout.perRow, layout.blockWidth, scale, theme, marks].join('/');
    if (drawing.current?.key !== key) {
      node.width = width * scale;
      node.height = layout.height * scale;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      drawing.current = { key, drawing: new Drawing(context, layout, readPalette(node), marks, width) };
    }
    drawing.current.drawing.show(group.nodes, fits);
  }, [group, fits, layout, width, marks, theme]);
  const row = at === null ? null : group.nodes[at];
  const shown = opened === null ? null : group.nodes.find(item => item.name === opened);
  const move = (event: KeyboardEvent): void => {
    const here = at ?? -1;
    const steps: Record<string, number> = {
      ArrowRight: here + 1,
      ArrowLeft: here - 1,
      ArrowDown: here + layout.perRow,
      ArrowUp: here - layout.perRow,
      Home: 0,
      End: group.nodes.length - 1
    };
    const next = steps[event.key];
    if (next !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(group.nodes.length - 1, next)));
    } else if ((event.key === 'Enter' || event.key === ' ') && row) {
      event.preventDefault();
      setOpened(row.name === opened ? null : row.name);
    } else if (event.key === 'Escape' && (at !== null || opened !== null)) {
      event.stopPropagation();
      setOpened(null);
      setAt(null);
    }
  };
  const pick = (event: MouseEvent<HTMLCanvasElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const index = nodeAt(layout, event.clientX - box.left, event.clientY - box.top);
    setAt(index);
    setOpened(index === null ? null : (group.nodes[index]?.name ?? null));
  };
  const nodes = group.nodes.length;
  const facts = fill(
    trans._n('{nodes} node · {free} of {total} free', '{nodes} nodes · {free} of {total} free', nodes),
    {
      nodes: count(speech, nodes),
      free: count(speech, group.counts.free),
      total: count(speech, group.counts.devices)
    }
  );
  return (
    <div className="dra-Group">
      <div className="dra-Picture-head">
        <span className="dra-Picture-name">
          <Name text={group.label} />
        </span>
        <span className="dra-mod-quiet">{facts}</span>
      </div>
      <div
        className="dra-Group-canvas"
        role="img"
        tabIndex={0}
        aria-label={`${group.label}. ${facts}`}
        onKeyDown={move}
        onBlur={() => setAt(null)}
      >
        <canvas ref={canvas} style={{ width, height: layout.height }} onClick={pick} />
        {at !== null && (
          <span
            className="dra-Group-cursor"
            style={{
              left: (at % layout.perRow) * layout.stepX - 2,
              top: Math.floor(at / layout.perRow) * layout.stepY - 2,
              width: layout.blockWidth + 4,
              height: layout.blockHeight + 4
            }}
          />
        )}
      </div>
      {/* An opened row says its name itself; a line above it that goes with the focus would move it under the pointer. */}
      <div role="status" className={row && row !== shown ? 'dra-Group-row' : 'dra-Spoken'}>
        {row && (
          <>
            <strong>
              <Name text={row.name} />
            </strong>{' '}
            {nodeSummary(speech, row.devices)}
          </>
        )}
      </div>
      {shown && <Picture rows={[shown]} fits={fits} initialOf={props.initialOf} now={props.now} />}
    </div>
  );
});

export function Canvas({ groups, ...props }: CanvasProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const [ref, width] = useWidth();
  const theme = useTheme();
  const [all, setAll] = useState(false);
  const shown = props.marks && !all ? groups.filter(group => group.counts.fitting > 0 || groups.length <= 3) : groups;
  const rest = groups.filter(group => !shown.includes(group));
  const nodes = rest.reduce((sum, group) => sum + group.nodes.length, 0);
  return (
    <div className="dra-Groups" ref={ref}>
      {shown.map(group => (
        <GroupCanvas key={group.label} group={group} {...props} width={width} theme={theme} />
      ))}
      {rest.length > 0 && (
        <button type="button" className="dra-Link" aria-expanded={false} onClick={() => setAll(true)}>
          {fill(
            trans._n(
              '{n} more kind, {nodes} nodes, none fits',
              '{n} more kinds, {nodes} nodes, none fits',
              rest.length
            ),
            {
              n: count(speech, rest.length),
              nodes: count(speech, nodes)
            }
          )}
        </button>
      )}
    </div>
  );
}
