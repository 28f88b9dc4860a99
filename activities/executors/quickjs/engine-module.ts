import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { EngineModule } from './thread/engine.ts';

/** The part of WebAssembly that is needed here: Node has it, and its types lack it. */
declare const WebAssembly: { Module: new (bytes: Uint8Array) => EngineModule };

let compiled: EngineModule | undefined;

/** Returns the engine, compiled once for all threads of the process, which share its machine code. */
export function engineModule(): EngineModule {
  compiled ??= new WebAssembly.Module(readFileSync(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm')));
  return compiled;
}
