/** Puts PNG pictures of one size together as one animated PNG, without decoding them. */

import { crc32 } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(type, data) {
  const head = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(head.length + 8);
  out.writeUInt32BE(data.length, 0);
  head.copy(out, 4);
  out.writeUInt32BE(crc32(head), head.length + 4);
  return out;
}

/** Type and data of each chunk. */
function* chunks(png) {
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += length + 12;
  }
}

function words(...numbers) {
  const out = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, index) => out.writeUInt32BE(number, 4 * index));
  return out;
}

/**
 * The animation, which plays for ever; `frames` are `{png, ms}`.
 *
 * Throws where the pictures are not of one size and kind.
 */
export function animated(frames) {
  const heads = frames.map(({ png }) => [...chunks(png)].find(({ type }) => type === 'IHDR').data);
  if (!heads.every(head => head.equals(heads[0]))) {
    throw new Error('the pictures differ in size or kind');
  }
  const [width, height] = [heads[0].readUInt32BE(0), heads[0].readUInt32BE(4)];
  let sequence = 0;
  const parts = frames.flatMap(({ png, ms }, index) => {
    const delay = Buffer.from([ms >> 8, ms & 255, 1000 >> 8, 1000 & 255, 0, 0]);
    const control = chunk('fcTL', Buffer.concat([words(sequence++, width, height, 0, 0), delay]));
    const data = [...chunks(png)].filter(({ type }) => type === 'IDAT').map(({ data: bytes }) => bytes);
    const pictures = data.map(bytes =>
      index ? chunk('fdAT', Buffer.concat([words(sequence++), bytes])) : chunk('IDAT', bytes)
    );
    return [control, ...pictures];
  });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', heads[0]),
    chunk('acTL', words(frames.length, 0)),
    ...parts,
    chunk('IEND', Buffer.alloc(0))
  ]);
}
