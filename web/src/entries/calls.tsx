import { start } from "../page/start.tsx";
import { TracePage } from "../page/TracePage.tsx";

void start(TracePage);
