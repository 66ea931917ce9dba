import { DiffPage } from "../page/DiffPage.tsx";
import { start } from "../page/start.tsx";

void start(DiffPage);
