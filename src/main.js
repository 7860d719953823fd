import './runtime.js';
import { setFlagsFromString } from 'node:v8';

// V8 lets the heap grow only slightly after a full collection, and counts the buffers of responses, so lists would cause ten full
// collections a second: docs/performance.md.
setFlagsFromString('--heap-growing-percent=100');

await import('./server.ts');
