import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/**
 * Builds the page of Studio once, before any test, unless it is newer than its sources: tests of the service read the same page as those in
 * a browser.
 */
export async function setup(): Promise<void> {
  const page = `${ROOT}dist/studio/index.html`;
  const newest = Math.max(
    ...readdirSync(`${ROOT}studio`, { recursive: true, encoding: 'utf8' }).map((file) => statSync(`${ROOT}studio/${file}`).mtimeMs),
  );
  if (existsSync(page) && statSync(page).mtimeMs > newest) return;
  const { build } = await import('vite');
  await build({ configFile: `${ROOT}vite.config.ts`, logLevel: 'warn' });
}
