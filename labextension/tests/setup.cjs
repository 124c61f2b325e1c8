// jsdom lacks what the page has.
const { webcrypto } = require('node:crypto');
const { TextDecoder, TextEncoder } = require('node:util');

Object.assign(globalThis, { TextDecoder, TextEncoder });
if (!globalThis.crypto?.randomUUID) {
  Object.defineProperty(globalThis, 'crypto', { value: webcrypto });
}
for (const name of ['fetch', 'Request', 'Response', 'Headers']) {
  globalThis[name] ??= class {};
}
// jsdom draws nothing; what asks for a drawing context gets none.
if (globalThis.HTMLCanvasElement) {
  globalThis.HTMLCanvasElement.prototype.getContext = () => null;
}
