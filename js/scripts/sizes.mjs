// Prints the size of files in bytes, raw and compressed by gzip and Brotli at the highest level:
// node scripts/sizes.mjs FILE…
import { readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

for (const file of process.argv.slice(2)) {
  const bytes = readFileSync(file);
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 },
  });
  console.log(`${bytes.length} ${gzipSync(bytes, { level: 9 }).length} ${brotli.length}`);
}
