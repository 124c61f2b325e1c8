/** The device card in outputs: `application/vnd.jupyter-dra.card+json`, drawn by us, readable as HTML and text without us. */

import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';

import { CardRenderer, MIME_TYPE } from './widgets/cardrenderer';

const extension: IRenderMime.IExtension = {
  id: 'jupyter-dra:card',
  description: 'Shows device cards of GPU sessions in outputs.',
  rendererFactory: {
    safe: true,
    mimeTypes: [MIME_TYPE],
    createRenderer: options => new CardRenderer(options)
  },
  rank: 0,
  dataType: 'json'
};

export default extension;
