import type { BuiltInAnchor } from '../anchor.ts';
import { listedMarkers, type Marker } from './markers.ts';

const CODE: readonly Marker[] = [
  'os.system(',
  'subprocess.',
  ['exec(', 'shell_exec('],
  'eval(',
  ['rm -rf', 'rm -rfv'],
  'del /f',
  'format c:',
  'import os',
  'import subprocess',
  '__import__(',
];

/** Stops answers with code or commands that do damage. */
export const noCodeExecution: BuiltInAnchor = {
  name: 'NoCodeExecution',
  description: 'No execution of code, no system commands, no file operations.',
  reject: ['code_execution', 'system_command', 'file_write'],
  onViolation: 'raise',
  check: (text) => listedMarkers('Code execution attempt detected', text, CODE),
};
