/** Our icon as JupyterLab wants it: a board with a round fan, two traces, three contact pins. */

import { LabIcon } from '@jupyterlab/ui-components';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" viewBox="0 0 20 20">
<g class="jp-icon3" fill="none" stroke="#616161" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">
<rect x="2.5" y="4" width="15" height="10" rx="1.5"/><circle cx="8" cy="9" r="2.8"/>
<path d="M13.2 7.5h1.8M13.2 10.5h1.8M6 14v2.5M10 14v2.5M14 14v2.5"/></g></svg>`;

export const draIcon = new LabIcon({ name: 'jupyter-dra:board', svgstr: SVG });

/** The same as an image, for launcher cards; its blue is readable on light and dark. */
export const draIconUrl = `data:image/svg+xml,${encodeURIComponent(SVG.replace('#616161', '#2e86de'))}`;
