import { CoveragePage } from "../page/CoveragePage.tsx";
import { start } from "../page/start.tsx";

void start(CoveragePage);
