// Appends each event that it reads to a file, as one line of JSON. It writes no answer, which is an allow.
import { appendFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';

appendFileSync(process.argv[2] ?? 'audit.log', `${await text(process.stdin)}\n`);
