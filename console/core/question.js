// What is asked before something is destroyed: set by `confirm` of the dialogs, shown by the frame.
import { signal } from "../vendor/preact.js";

export const question = signal(null);
