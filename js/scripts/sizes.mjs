// How many bytes files take: node scripts/sizes.mjs FILE… prints for each of them its bytes as they are, and compressed as hard
// as gzip and Brotli can, as a web server would once and for all.
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

for (const file of process.argv.slice(2)) {
  const bytes = readFileSync(file);
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 },
  });
  console.log(`${bytes.length} ${gzipSync(bytes, { level: 9 }).length} ${brotli.length}`);
}
