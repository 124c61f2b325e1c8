/** Prints every answer that the frames give in the server part's place, as JSON lines of method, path and document. */

import { FRAMES, routesOf } from './frames.mjs';

const ROUTES = [
  ['GET', 'status'],
  ['GET', 'tiers'],
  ['GET', 'devices'],
  ['GET', 'waiting'],
  ['GET', 'sessions'],
  ['POST', 'plan'],
  ['POST', 'claims/preview']
];
const FEW = 20;

for (const [frame, { documents }] of Object.entries(FRAMES)) {
  if (documents.never || documents.missing) {
    continue;
  }
  const answers = routesOf(documents);
  for (const [method, path] of ROUTES) {
    const { status, json } = answers(method, path, { requirement: {} });
    if (status === 200) {
      // Tens of thousands of devices are made by one function; some stand for all.
      const document = json.devices?.slice ? { ...json, devices: json.devices.slice(0, FEW) } : json;
      console.log(JSON.stringify({ frame, method, path, document }));
    }
  }
}
