import type { JsonObject, JsonValue } from '../../../src/domain/json.ts';
import { newRunResult } from '../../../src/domain/new-run-result.ts';
import { outputText } from '../../../src/domain/output-text.ts';
import type { RunResult } from '../../../src/domain/run-result.ts';
