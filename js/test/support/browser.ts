import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import { transform } from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";

/** A page in a real Chromium. */
export interface Tab extends AsyncDisposable {
  page: Page;
}

/** Opens an empty page whose server hands out the files below a folder; TypeScript loses its types on the way. */
export async function openTab(root: string): Promise<Tab> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (pathname === "/") {
      response.setHeader("content-type", "text/html").end("<!doctype html><title>Loopwarden</title>");
      return;
    }
    try {
      const source = await readFile(join(root, normalize(pathname)), "utf8");
      response.setHeader("content-type", "text/javascript");
      response.end(pathname.endsWith(".ts") ? (await transform(source, { loader: "ts" })).code : source);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  let browser: Browser;
  try {
    browser = await launch();
  } catch (error) {
    server.close();
    throw error;
  }
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return {
    page,
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A real Chromium. */
export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: executable(), args: FLAGS });
}

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function executable(): string {
  const path = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  if (!existsSync(path)) throw new Error(`there is no Chromium at ${path}: install one, or set CHROMIUM to its path`);
  return path;
}
