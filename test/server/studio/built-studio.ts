import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Builds the page unless it is newer than its sources. */
export async function builtStudio(): Promise<void> {
  const page = `${ROOT}dist/studio/index.html`;
  const newest = Math.max(
    ...readdirSync(`${ROOT}studio`, { recursive: true, encoding: 'utf8' }).map((file) => statSync(`${ROOT}studio/${file}`).mtimeMs),
  );
  if (existsSync(page) && statSync(page).mtimeMs > newest) return;
  await build({ configFile: `${ROOT}vite.config.ts`, logLevel: 'warn' });
}
